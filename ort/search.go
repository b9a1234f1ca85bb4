package ort

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// libraryNames are the file names of the library, those with a version first.
func libraryNames(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"libonnxruntime.1.dylib", "libonnxruntime.dylib", "libonnxruntime.*.dylib"}
	case "windows":
		return []string{"onnxruntime.dll"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so", "libonnxruntime.so.1.*"}
}

// inside are the places of the library below a folder: itself, one that was unpacked, npm's onnxruntime-node, Python's onnxruntime.
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

// folders are searched in order, after what the system's loader finds by name.
func folders(goos, goarch string) []string {
	var list []string
	add := func(dir string) {
		if dir != "" {
			list = append(list, inside(dir, goos, goarch)...)
		}
	}
	if exe, err := os.Executable(); err == nil {
		add(filepath.Dir(exe))
	}
	add(os.Getenv("VIRTUAL_ENV"))
	add(os.Getenv("CONDA_PREFIX"))
	if home, err := os.UserHomeDir(); err == nil {
		add(filepath.Join(home, ".local"))
	}
	switch goos {
	case "darwin":
		list = append(list, "/opt/homebrew/lib", "/usr/local/lib", "/opt/local/lib")
	case "windows":
	default:
		list = append(list, "/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/onnxruntime/lib")
		add("/usr/local")
		list = append(list, "/usr/local/lib/python3*/dist-packages/onnxruntime/capi", "/usr/lib/python3*/dist-packages/onnxruntime/capi")
	}
	return list
}

// candidates are the files to try, in order. A file or folder that was named is the only place.
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
	return append(list, found(folders(goos, goarch), goos)...)
}

// found are the libraries in folders, which may be patterns: newest first where there are several.
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
	by     string   // what named it
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
		fmt.Fprintf(&b, ": looked for %s where the loader does and in %s", names, strings.Join(folders(runtime.GOOS, runtime.GOARCH), ", "))
	}
	for _, why := range m.broken {
		fmt.Fprintf(&b, "; %s", why)
	}
	b.WriteString("; GRAFT_ORT names a file or folder elsewhere; it is in the archives of github.com/microsoft/onnxruntime/releases, npm's onnxruntime-node and Python's onnxruntime")
	return b.String()
}
