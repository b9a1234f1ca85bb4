package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// TestServeEnds: an interruption of serve refuses new connections, ends those without a request and finishes the requests that have begun, whose bodies arrive later too; no goroutine is left.
func TestServeEnds(t *testing.T) {
	path, g, x := made(t, "mlp --input 2", []int{1, 2})
	if _, err := g.Run(t.Context(), x); err != nil { // starts the workers of all runs
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	s := quick
	s.address = "localhost:0"
	s.timeout = 4 * time.Second // of Shutdown, too, which waits longer for a connection that is new
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, w, path) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://([^;]+);`).FindStringSubmatch(line)[1]
	const body = `{"x":[1,2]}`
	var begun []net.Conn
	for range 5 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(15 * time.Second)) // less than the time limit of a request
		fmt.Fprintf(c, "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
		if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != 100 {
			t.Fatal(answer, err)
		}
		begun = append(begun, c)
	}
	silent, err := net.Dial("tcp", address) // which the server does not wait for
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	interrupt()
	for {
		c, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		c.Close()
	}
	for _, c := range begun {
		if _, err := io.WriteString(c, body); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(answer.Body)
		if answer.Body.Close(); answer.StatusCode != 200 {
			t.Errorf("%s: %s", answer.Status, b)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
