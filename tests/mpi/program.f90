! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program with a library in C (program_library.c): both reduce on communicators that
! Fortran makes and frees, while other ranks may still be in the library. Rank 0 prints ok.
program main
  use mpi
  implicit none
  interface
    subroutine reduce_in_c(comm, element_type, input, output, elements) bind(C)
      use iso_c_binding
      integer(c_int), value :: comm, element_type, elements
      type(c_ptr), value :: input, output
    end subroutine
  end interface
  integer, parameter :: rounds = 20, elements = 300000
  integer :: code, rank, ranks, part, members, round

  call mpi_init(code)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, code)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, code)
  do round = 1, rounds
    call mpi_comm_split(MPI_COMM_WORLD, mod(rank * round, 2), -rank, part, code)
    call mpi_comm_size(part, members, code)
    call sums_in_c(part, members)
    if (mod(round, 10) == 0) call sums_here(part, members)
    call mpi_comm_free(part, code)
  end do
  call sums_in_c(MPI_COMM_WORLD, ranks)
  call sums_here(MPI_COMM_WORLD, ranks)
  if (rank == 0) print '(a)', 'ok'
  call mpi_finalize(code)

contains

  subroutine sums_in_c(comm, members)
    use iso_c_binding
    integer, intent(in) :: comm, members
    double precision, target :: doubles(elements), double_sums(elements)
    real, target :: reals(elements), real_sums(elements)
    integer, target :: integers(elements), integer_sums(elements)
    doubles = 0.5d0
    reals = 2.0
    integers = 3
    call reduce_in_c(comm, MPI_DOUBLE_PRECISION, c_loc(doubles), c_loc(double_sums), elements)
    call expect(all(double_sums == 0.5d0 * members), 'sums of MPI_DOUBLE_PRECISION in C')
    call reduce_in_c(comm, MPI_REAL, c_loc(reals), c_loc(real_sums), elements)
    call expect(all(real_sums == 2.0 * members), 'sums of MPI_REAL in C')
    call reduce_in_c(comm, MPI_INTEGER, c_loc(integers), c_loc(integer_sums), elements)
    call expect(all(integer_sums == 3 * members), 'sums of MPI_INTEGER in C')
  end subroutine

  subroutine sums_here(comm, members)
    integer, intent(in) :: comm, members
    double precision :: doubles(elements), sums(elements)
    doubles = 0.25d0
    call mpi_allreduce(doubles, sums, elements, MPI_DOUBLE_PRECISION, MPI_SUM, comm, code)
    call expect(all(sums == 0.25d0 * members), 'sums in Fortran')
    call mpi_allreduce(MPI_IN_PLACE, doubles, elements, MPI_DOUBLE_PRECISION, MPI_MAX, comm, code)
    call expect(all(doubles == 0.25d0), 'maxima in place in Fortran')
  end subroutine

  subroutine expect(right, words)
    logical, intent(in) :: right
    character(*), intent(in) :: words
    if (right) return
    print '(a, i0, 2a)', 'rank ', rank, ': wrong ', words
    call mpi_abort(MPI_COMM_WORLD, 3, code)
  end subroutine
end program
