//go:build linux || darwin

package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

func TestChoose(t *testing.T) {
	exports := func(names ...string) func(string) uintptr {
		return func(name string) uintptr {
			for i, n := range names {
				if n == name {
					return uintptr(i + 1000)
				}
			}
			return 0
		}
	}
	open := exports("ompi_mpi_comm_world", "ompi_mpi_errors_return", "ompi_mpi_op_sum", "ompi_mpi_byte", "ompi_mpi_float", "ompi_mpi_double")
	none := exports()
	for _, x := range []struct {
		id         identity
		name, says string
	}{
		{identity{-1, 3, "Open MPI v4.1.4", open}, "Open MPI", ""},
		{identity{-1, 3, "Open MPI v5.0.6", open}, "Open MPI", ""},
		{identity{-1, 5, "Open MPI v6.0.0", open}, "Open MPI", ""}, // whose own ABI is not the standard's
		{identity{1, 5, "Open MPI v6.0.0", open}, "the standard ABI of MPI", ""},
		{identity{-1, 4, "MPICH Version: 4.0.2", none}, "MPICH", ""},
		{identity{-1, 3, "Intel(R) MPI Library 2021.5 for Linux* OS", none}, "MPICH", ""},
		{identity{-1, 3, "MVAPICH2 Version : 2.3.7", none}, "MPICH", ""},
		{identity{-1, 3, "MPI VERSION : CRAY MPICH version 8.1.25", none}, "MPICH", ""},
		{identity{1, 5, "MPICH Version: 5.0.0", none}, "the standard ABI of MPI", ""},
		{identity{1, 4, "MPICH Version: 4.3.0", none}, "", "draft from before MPI 5"},
		{identity{2, 6, "", none}, "", "version 2 of the standard ABI: only version 1 is supported"},
		{identity{-1, 3, "Open MPI v4.1.4", exports("ompi_mpi_comm_world")}, "", "does not export ompi_mpi_"},
		{identity{-1, 3, "HP MPI", none}, "", `it calls itself "HP MPI"`},
	} {
		a, err := x.id.choose()
		switch {
		case x.says == "" && (err != nil || a.name != x.name || a.world == 0 || a.doubles == 0 || a.sum == 0):
			t.Errorf("%+v: %+v, %v", x.id, a, err)
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%+v: %v, want %q", x.id, err, x.says)
		}
	}
	if openMPI.world != 0 {
		t.Error("the table of Open MPI was written to")
	}
}

// A library with the standard ABI passes calls on to MPICH, and ends the process where a constant is not the standard's.
func TestStandardABI(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only: it loads libmpich.so.12")
	}
	mpich := mpitest.Launchers[1]
	mpitest.Need(t, mpich.Command[0], mpich.Package)
	mpitest.Need(t, "cc", "gcc libc6-dev")
	library := filepath.Join(t.TempDir(), "libmpi_abi.so.0")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, "testdata/abi/abi.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, role := range []string{"collective", "bits"} {
		out := succeed(t, mpich, 2, role, "GRAFT_MPI="+library)
		if role == "collective" && strings.Count(out, library+" (Test of the standard ABI)") != 2 {
			t.Errorf("want %s:\n%s", library, out)
		}
	}
	found := succeed(t, mpich, 2, "collective", "LD_LIBRARY_PATH="+filepath.Dir(library)+":"+os.Getenv("LD_LIBRARY_PATH"))
	if strings.Contains(found, "standard ABI") {
		t.Errorf("MPICH itself comes before the standard ABI:\n%s", found)
	}
	for _, x := range [][2]string{
		{"ABI_MPI_VERSION=4", "its standard ABI is a draft from before MPI 5"},
		{"ABI_MAJOR=2", "it has version 2 of the standard ABI: only version 1 is supported"},
		{"ABI_MAJOR=-1", "it is neither Open MPI nor MPICH, and does not have the standard ABI of MPI"},
	} {
		job := start(t, mpich, 2, "bits", "GRAFT_MPI="+library, x[0])
		if r := job.Wait(t); r.Status == 0 || strings.Count(r.Out, "mpi: "+library+": "+x[1]) != 2 {
			t.Errorf("%s: status %d, want %q from each rank:\n%s", x[0], r.Status, x[1], r.Out)
		}
	}
}
