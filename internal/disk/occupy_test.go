//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
)

// TestOccupy: a folder that a process has reserved is refused to others until its last release, or until it ends.
func TestOccupy(t *testing.T) {
	const variable = "GRAFT_TEST_OCCUPY"
	if dir := os.Getenv(variable); dir != "" { // the other process
		_, err := disk.Occupy(dir)
		os.Stdout.WriteString(map[bool]string{true: "occupied\n", false: "refused\n"}[err == nil])
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	dir := t.TempDir()
	other := func() (answer string, end func()) {
		t.Helper()
		c := exec.Command(os.Args[0], "-test.run=^TestOccupy$")
		c.Env = append(os.Environ(), variable+"="+dir)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		answer, err = bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer, func() {
			in.Close()
			c.Wait()
		}
	}
	first, err := disk.Occupy(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := disk.Occupy(dir + "/.")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call of a release does nothing
		first()
		answer, end := other()
		if end(); answer != "refused\n" {
			t.Errorf("while it is reserved: %s", answer)
		}
	}
	second()
	answer, end := other()
	if answer != "occupied\n" {
		t.Errorf("after the last release: %s", answer)
	}
	if _, err := disk.Occupy(dir); err == nil || !strings.Contains(err.Error(), "is being written to by another process") {
		t.Errorf("reserved by another process: %v", err)
	}
	end()
	release, err := disk.Occupy(dir)
	if err != nil {
		t.Fatalf("after the other process has ended: %v", err)
	}
	release()
}
