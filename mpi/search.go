package mpi

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// libraryNames returns the file names of each family, newest first. The bare libmpi is a link of development packages.
func libraryNames(goos string) map[string][]string {
	if goos == "darwin" {
		return map[string][]string{
			openMPI.name:  {"libmpi.40.dylib"},
			mpich.name:    {"libmpi.12.dylib", "libmpich.12.dylib"},
			standard.name: {"libmpi_abi.1.dylib", "libmpi_abi.0.dylib", "libmpi_abi.dylib", "libmpi.dylib"},
		}
	}
	return map[string][]string{
		openMPI.name:  {"libmpi.so.40"},
		mpich.name:    {"libmpich.so.12", "libmpi.so.12"},
		standard.name: {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so", "libmpi.so"},
	}
}

// libraryFolders are searched after those that the system's loader knows, for libraries that packages keep out of its way.
func libraryFolders(goos string) map[string][]string {
	if goos == "darwin" {
		all := []string{"/opt/homebrew/lib", "/usr/local/lib", "/opt/local/lib"}
		return map[string][]string{openMPI.name: all, mpich.name: all, standard.name: all}
	}
	return map[string][]string{
		openMPI.name:  {"/usr/lib64/openmpi/lib", "/usr/lib/openmpi/lib", "/opt/openmpi/lib"},
		mpich.name:    {"/usr/lib64/mpich/lib", "/usr/lib/mpich/lib", "/opt/mpich/lib"},
		standard.name: {"/usr/local/lib"},
	}
}

// candidates returns the files to try, in order: those of the family that goes with the launcher first.
func candidates(first string) []string {
	if path := os.Getenv("GRAFT_MPI"); path != "" {
		return []string{path}
	}
	order := []string{first}
	for _, family := range []string{openMPI.name, standard.name, mpich.name} {
		if !slices.Contains(order, family) {
			order = append(order, family)
		}
	}
	names, folders := libraryNames(runtime.GOOS), libraryFolders(runtime.GOOS)
	var out []string
	for _, family := range order {
		out = append(out, names[family]...)
		for _, dir := range folders[family] {
			for _, name := range names[family] {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	return out
}

// A missing is the error of a search that found no library.
type missing struct {
	tried  []string
	broken []string // why files that are there did not load
}

func (m *missing) Error() string {
	var b strings.Builder
	b.WriteString("mpi: no MPI library found")
	if named := os.Getenv("GRAFT_MPI"); named != "" {
		fmt.Fprintf(&b, ": GRAFT_MPI is %s", named)
	} else if len(m.tried) > 0 {
		fmt.Fprintf(&b, ": looked for %s", strings.Join(m.tried, ", "))
	}
	for _, why := range m.broken {
		fmt.Fprintf(&b, "; %s", why)
	}
	if os.Getenv("GRAFT_MPI") == "" {
		install := "on Debian and Ubuntu, apt-get install openmpi-bin (or mpich) provides one"
		if runtime.GOOS == "darwin" {
			install = "brew install open-mpi (or mpich) provides one"
		}
		fmt.Fprintf(&b, "; %s; GRAFT_MPI=/path/to/library names one elsewhere", install)
	}
	return b.String()
}
