# SPDX-License-Identifier: BSD-3-Clause
# Compiles what Verilator has written, in its folder, as two units: what runs often, and the rest. As single files the
# many small ones of a network take three times as long, most of it for the headers that each includes.
#
#   make -C FOLDER -f verilated_units.mk MODEL=Vname CXX=g++ OBJCACHE=ccache OPT_FAST=-O1 INCLUDES="-I..." Vname__ALL.a
include $(MODEL)_classes.mk

parts_fast := $(VM_CLASSES_FAST) $(VM_SUPPORT_FAST)
parts_slow := $(VM_CLASSES_SLOW) $(VM_SUPPORT_SLOW)
settings := -DVM_COVERAGE=$(VM_COVERAGE) -DVM_SC=0 -DVM_TRACE=$(VM_TRACE) -DVM_TRACE_FST=$(VM_TRACE_FST) \
  -DVM_TRACE_VCD=$(VM_TRACE_VCD) -DVL_USER_STOP -DVL_USER_FATAL

$(MODEL)__ALL.a: unit_fast.o unit_slow.o
	rm -f $@
	ar rcs $@ $^

unit_fast.o: optimize := $(OPT_FAST)
unit_slow.o: optimize := -O0

unit_%.o: unit_%.cpp
	$(OBJCACHE) $(CXX) $(optimize) -fPIC -w $(settings) -I. $(INCLUDES) -c -o $@ $<

# Anew each time: Verilator may have written other files.
unit_%.cpp: FORCE
	for part in $(parts_$*); do echo "#include \"$$part.cpp\""; done > $@

.PHONY: FORCE
FORCE:
