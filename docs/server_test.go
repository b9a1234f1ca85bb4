package docs_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// listening is where a page's server is: what it says, and what it is asked at.
const listening = "localhost:8080"

var served = regexp.MustCompile(` at http://([^;]+);`)

// serve starts a command that does not end, on a free port; it is interrupted when the page has been run.
func (r *reader) serve(t *testing.T, text string) (printed string) {
	t.Helper()
	c := exec.Command("bash", "-c", "exec "+strings.Replace(text, listening, "localhost:0", 1))
	c.Dir = r.dir
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 130 {
			t.Errorf("%s: %v", text, err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if m := served.FindStringSubmatch(line); m != nil {
			r.address = m[1]
			return printed + strings.Replace(line, m[1], listening, 1) + "\n"
		}
		printed += line + "\n"
	}
	t.Fatalf("%s does not serve: %s", text, printed)
	return ""
}
