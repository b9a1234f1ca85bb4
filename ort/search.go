package ort

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// libraryNames returns the file names of the library, those with a version first.
func libraryNames(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"libonnxruntime.1.dylib", "libonnxruntime.dylib", "libonnxruntime.*.dylib"}
	case "windows":
		return []string{"onnxruntime.dll"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so", "libonnxruntime.so.1.*"}
}

// inside returns the places of the library below a folder: itself, one that was unpacked, npm's onnxruntime-node, Python's onnxruntime.
func inside(dir, goos, goarch string) []string {
	arch := map[string]string{"amd64": "x64"}[goarch]
	if arch == "" {
		arch = goarch
	}
	system := goos
	if goos == "windows" {
		system = "win32"
	}
	return []string{
		dir, filepath.Join(dir, "lib"),
		filepath.Join(dir, "node_modules", "onnxruntime-node", "bin", "napi-v*", system, arch),
		filepath.Join(dir, "lib", "python3*", "site-packages", "onnxruntime", "capi"),
		filepath.Join(dir, "Lib", "site-packages", "onnxruntime", "capi"),
		filepath.Join(dir, "onnxruntime", "capi"),
	}
}

// folders are searched in order, after the system's loader. The working directory is not among them, since its contents
// may not be trusted.
func folders(goos string) []string {
	var list []string
	if exe, err := os.Executable(); err == nil {
		dir := filepath.Dir(exe)
		list = append(list, dir, filepath.Join(dir, "lib"))
	}
	python := func(root string) { // of a folder with programs and libraries
		if goos == "windows" {
			list = append(list, filepath.Join(root, "Lib", "site-packages", "onnxruntime", "capi"))
		} else {
			list = append(list, filepath.Join(root, "lib", "python3*", "site-packages", "onnxruntime", "capi"))
		}
	}
	for _, env := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := os.Getenv(env); root != "" {
			list = append(list, filepath.Join(root, "lib"))
			python(root)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		python(filepath.Join(home, ".local"))
	}
	switch goos {
	case "darwin":
		list = append(list, "/opt/homebrew/lib", "/usr/local/lib", "/opt/local/lib")
	case "linux":
		list = append(list, "/usr/local/lib", "/usr/lib64", "/opt/onnxruntime/lib")
		python("/usr/local")
		list = append(list, "/usr/local/lib/python3*/dist-packages/onnxruntime/capi", "/usr/lib/python3*/dist-packages/onnxruntime/capi")
	}
	return list
}

// candidates returns the files to try, in order. A file or folder that was named is the only place.
func candidates(named string) []string {
	goos, goarch := runtime.GOOS, runtime.GOARCH
	if named != "" {
		if info, err := os.Stat(named); err != nil || !info.IsDir() {
			return []string{named}
		}
		return found(inside(named, goos, goarch), goos)
	}
	var list []string
	for _, name := range libraryNames(goos) {
		if !strings.Contains(name, "*") {
			list = append(list, name) // by the loader
		}
	}
	return append(list, found(folders(goos), goos)...)
}

// found returns the libraries in folders, which may be patterns: the newest first.
func found(dirs []string, goos string) []string {
	var list []string
	for _, dir := range dirs {
		for _, name := range libraryNames(goos) {
			files, _ := filepath.Glob(filepath.Join(dir, name)) // the patterns are our own
			slices.Reverse(files)
			for _, f := range files {
				if !slices.Contains(list, f) {
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// A missing is the error of a search that found no library that loads.
type missing struct {
	named  string   // the only place; "": the usual ones
	by     string   // the origin of its path
	broken []string // why files that are there did not load
}

func (m *missing) Error() string {
	var b strings.Builder
	b.WriteString("ort: no ONNX Runtime library found")
	names := strings.Join(libraryNames(runtime.GOOS), ", ")
	if m.named != "" {
		fmt.Fprintf(&b, ": %s is %s", m.by, m.named)
		if info, err := os.Stat(m.named); err == nil && info.IsDir() {
			fmt.Fprintf(&b, ", where %s would be in %s", names, strings.Join(inside(m.named, runtime.GOOS, runtime.GOARCH), ", "))
		}
	} else {
		fmt.Fprintf(&b, ": looked for %s where the loader does and in %s", names, strings.Join(folders(runtime.GOOS), ", "))
	}
	for _, why := range m.broken {
		fmt.Fprintf(&b, "; %s", why)
	}
	b.WriteString("; GRAFT_ORT names a file or folder elsewhere; it is in the archives of github.com/microsoft/onnxruntime/releases, npm's onnxruntime-node and Python's onnxruntime")
	return b.String()
}
