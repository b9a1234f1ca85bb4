//go:build linux || darwin

package mpi

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

func TestNoLibrary(t *testing.T) {
	t.Setenv("GRAFT_MPI", "")
	_, err := open(nil)
	const rest = "apt-get install openmpi-bin (or mpich) provides one; GRAFT_MPI=/path/to/library names one elsewhere"
	if runtime.GOOS == "linux" && (err == nil || !strings.HasPrefix(err.Error(), "mpi: no MPI library found") || !strings.HasSuffix(err.Error(), rest)) {
		t.Error(err)
	}
	_, err = open([]string{"libnosuchmpi.so.1", "/nowhere/libmpi.so"})
	if err == nil || !strings.Contains(err.Error(), "looked for libnosuchmpi.so.1, /nowhere/libmpi.so; ") {
		t.Error(err)
	}
	t.Setenv("GRAFT_MPI", "/nowhere/libmpi.so")
	_, err = open(candidates(""))
	if err == nil || !strings.HasPrefix(err.Error(), "mpi: no MPI library found: GRAFT_MPI is /nowhere/libmpi.so; ") || strings.Contains(err.Error(), "apt-get") {
		t.Error(err)
	}
	notMPI := "libc.so.6"
	if runtime.GOOS == "darwin" {
		notMPI = "/usr/lib/libSystem.B.dylib"
	}
	_, err = open([]string{notMPI})
	if err == nil || err.Error() != "mpi: "+notMPI+": it is not an MPI library: it does not export MPI_Get_version" {
		t.Error(err)
	}
	text := t.TempDir() + "/libmpi.so"
	if err := os.WriteFile(text, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GRAFT_MPI", "")
	if _, err = open([]string{text}); err == nil || !strings.Contains(err.Error(), text) || strings.Count(err.Error(), text) < 2 {
		t.Errorf("%v; want the reason why the file does not load", err)
	}
}

func TestLaunched(t *testing.T) {
	clear := func() {
		for _, l := range launchers {
			t.Setenv(l.rank, "")
			t.Setenv(l.size, "")
			t.Setenv(l.local, "")
		}
	}
	for _, x := range []struct {
		env        map[string]string
		by         string
		rank, size int
		first      string
		local      int
	}{
		{nil, "", 0, 1, "Open MPI", 1},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "mpirun of Open MPI", 3, 4, "Open MPI", 2},
		{map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}, "mpiexec of MPICH", 1, 2, "MPICH", 2},
		{map[string]string{"PMIX_RANK": "1", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "8"}, "srun with PMIx", 1, 8, "Open MPI", 1},
		{map[string]string{"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "2(x3),1(x2)", "SLURM_NODEID": "2"}, "srun", 5, 8, "MPICH", 2},
		{map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, "mpirun of Open MPI", 1, 2, "Open MPI", 1},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_SIZE": "4"}, "", 0, 1, "Open MPI", 1}, // nonsense
		{map[string]string{"PMI_RANK": "one", "PMI_SIZE": "2"}, "", 0, 1, "Open MPI", 1},
	} {
		clear()
		for name, value := range x.env {
			t.Setenv(name, value)
		}
		if l := launched(); l != (launch{x.by, x.rank, x.size, x.local, x.first}) {
			t.Errorf("%v: %+v", x.env, l)
		}
		if rank, size, local := Launched(); rank != x.rank || size != x.size || local != x.local {
			t.Errorf("%v: rank %d of %d, %d here", x.env, rank, size, local)
		}
	}
}

func TestTasks(t *testing.T) {
	for _, x := range []struct {
		list       string
		node, want int
	}{{"", 0, 1}, {"4", 0, 4}, {"2(x3),1", 0, 2}, {"2(x3),1", 2, 2}, {"2(x3),1", 3, 1}, {"1,7", 1, 7}, {"7", 3, 1}, {"x", 0, 1}} {
		if got := tasks(x.list, x.node); got != x.want {
			t.Errorf("%q on node %d: %d, want %d", x.list, x.node, got, x.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Setenv("GRAFT_MPI", "")
	if runtime.GOOS != "linux" {
		t.Skip("Linux's names")
	}
	for first, name := range map[string]string{openMPI.name: "libmpi.so.40", mpich.name: "libmpich.so.12"} {
		all := candidates(first)
		if all[0] != name || !slices.Contains(all, "libmpi_abi.so.0") || !slices.Contains(all, "libmpi.so.40") || !slices.Contains(all, "libmpi.so.12") {
			t.Errorf("%s: %q", first, all)
		}
	}
	t.Setenv("GRAFT_MPI", "/opt/x/libmpi.so")
	if all := candidates(mpich.name); !slices.Equal(all, []string{"/opt/x/libmpi.so"}) {
		t.Errorf("%q", all)
	}
}

// The library of one MPI in the launcher of another sees one process; it says so instead of working alone on each rank.
func TestOtherLauncher(t *testing.T) {
	for i, l := range mpitest.Launchers {
		other := mpitest.Launchers[1-i]
		mpitest.Need(t, l.Command[0], l.Package)
		mpitest.Need(t, other.Command[0], other.Package)
		library := map[string]string{"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[other.Name]
		job := start(t, l, 2, "bits", "GRAFT_MPI="+library)
		r := job.Wait(t)
		if r.Status == 0 || !strings.Contains(r.Out, " started 2 processes, but "+library+" ("+other.Library) || strings.Contains(r.Out, "sum ") {
			t.Errorf("%s with %s: status %d\n%s", l.Name, library, r.Status, r.Out)
		}
	}
}

// TestAlone checks that without a launcher there is one rank.
func TestAlone(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range mpitest.Launchers {
		mpitest.Need(t, l.Command[0], l.Package)
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), roleVariable+"=collective", "GRAFT_MPI="+map[string]string{"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[l.Name])
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "rank 0 of 1: ") {
			t.Errorf("%s: %v\n%s", l.Name, err, out)
		}
	}
}
