package mpi

import (
	"os"
	"strconv"
	"strings"
)

// launchers are the known ones, by the environment variables that they set for each process. The first
// that is set is used:
// an mpirun inside a Slurm job sets its own beside Slurm's.
var launchers = []struct {
	name       string
	rank, size string
	local      string // ranks on this machine
	first      string // the family of libraries that goes with it
}{
	{"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", openMPI.name},
	{"mpiexec of MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", mpich.name},
	{"mpiexec of MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", mpich.name},
	{"srun with PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", openMPI.name},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", mpich.name},
}

// launch is what the environment contains about this process.
type launch struct {
	by                string // "": no launcher that is known
	rank, size, local int
	first             string
}

// launched reads the environment.
func launched() launch {
	for _, l := range launchers {
		rank, err := strconv.Atoi(os.Getenv(l.rank))
		size, err2 := strconv.Atoi(os.Getenv(l.size))
		if err == nil && err2 == nil && rank >= 0 && rank < size {
			node, _ := strconv.Atoi(os.Getenv("SLURM_NODEID"))
			return launch{l.name, rank, size, min(tasks(os.Getenv(l.local), node), size), l.first}
		}
	}
	return launch{size: 1, local: 1, first: openMPI.name}
}

// tasks returns the number of tasks on a node, from a list such as "4" or, in Slurm's format,
// "2(x3),1"; 1 if the list is empty.
func tasks(list string, node int) int {
	for item := range strings.SplitSeq(list, ",") {
		count, times, many := strings.Cut(strings.TrimSuffix(item, ")"), "(x")
		n, err := strconv.Atoi(count)
		repeat := 1
		if many {
			repeat, _ = strconv.Atoi(times)
		}
		if node -= repeat; node < 0 && err == nil {
			return max(1, n)
		}
	}
	return 1
}

// Launched returns the rank of this process, the number of processes and how many of them are on this
// machine, according to the launcher's environment variables, without starting MPI. They are 0, 1 and
// 1 for a process without a launcher, and with an unknown launcher: the values of a Comm are
// authoritative.
func Launched() (rank, size, local int) {
	l := launched()
	return l.rank, l.size, l.local
}
