prim/mt_onehot.sv
prim/mt_prio_enc.sv
prim/mt_fifo.sv
prim/mt_skid.sv
prim/mt_credit.sv
prim/mt_rr_arb.sv
prim/mt_lru_arb.sv
prim/mt_parity.sv
