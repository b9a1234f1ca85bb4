//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/disk"
	"golang.org/x/sys/unix"
)

// TestStoppedProcess: who waits for a process that is stopped within a change of a folder gets an error that names the lock and the process, when the context ends or when
// nothing has changed for a while. When the process goes on, the change is whole.
func TestStoppedProcess(t *testing.T) {
	const variable = "GRAFT_TEST_STOPPED"
	if dir := os.Getenv(variable); dir != "" { // the other process
		rename := disk.System.Rename
		disk.System.Rename = func(from, to string) error {
			err := rename(from, to)
			if filepath.Base(to) == ".graft-commit" {
				goesOn := make(chan os.Signal, 1)
				signal.Notify(goesOn, unix.SIGCONT)
				os.Stdout.WriteString("stops\n")
				err = errors.Join(err, unix.Kill(os.Getpid(), unix.SIGSTOP))
				<-goesOn // another thread may be the one that is stopped first
			}
			return err
		}
		change, err := disk.Begin(context.Background(), dir)
		if err == nil {
			err = errors.Join(change.Write("a", text("new")), change.Write("b", text("new")), change.Commit())
		}
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "c")
	c := exec.Command(os.Args[0], "-test.run=^TestStoppedProcess$")
	c.Env = append(os.Environ(), variable+"="+dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "stops\n" {
		t.Fatal(line, err)
	}
	for state := ""; runtime.GOOS == "linux" && !strings.HasPrefix(state, "T"); { // it has written that it stops
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, state, _ = strings.Cut(string(b), ") "); strings.HasPrefix(state, "Z") {
			t.Fatal("the other process ended")
		}
	}
	check := func(name string, err, is error, lock string) {
		t.Helper()
		want := []string{dir + " is being written to by another process: waited for " + filepath.Join(dir, lock)}
		if runtime.GOOS == "linux" {
			want = append(want, fmt.Sprintf("which process %d (stopped) has locked", c.Process.Pid))
		}
		for _, s := range want {
			if err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v, want %q", name, err, s)
			}
		}
		if !errors.Is(err, is) || !errors.Is(err, disk.ErrOccupied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = disk.Begin(ctx, dir)
	check("Begin", err, context.DeadlineExceeded, ".graft-commit")
	_, err = disk.Lock(ctx, dir)
	check("Lock", err, context.DeadlineExceeded, ".graft-lock")
	patience := disk.Patience
	defer func() { disk.Patience = patience }()
	disk.Patience = 20 * time.Millisecond
	check("WriteFile", disk.WriteFile(file, text("new")), disk.ErrOccupied, ".graft-commit")
	disk.Patience = patience
	if err := c.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(file, text("new")); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	release, err := disk.Lock(ctx, dir) // which is free: the context does not matter
	if err != nil {
		t.Fatal(err)
	}
	release()
	for _, name := range []string{"a", "b", "c"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "new" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Error(entries, err)
	}
}
