package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/budget"
)

// limitedListener limits the number of open connections. Further ones wait in the system's queue.
type limitedListener struct {
	net.Listener
	open   chan struct{} // has as many elements as connections are open
	end    chan struct{} // closed with the listener
	once   sync.Once
	silent sync.Map // connections on which nothing has arrived
}

func limitConnections(l net.Listener, n int) *limitedListener {
	return &limitedListener{Listener: l, open: make(chan struct{}, n), end: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.end:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	limited := &limitedConn{Conn: c, of: l, release: sync.OnceFunc(func() { <-l.open })}
	l.silent.Store(limited, true)
	return limited, nil
}

// closeSilent closes the connections on which nothing has arrived.
func (l *limitedListener) closeSilent() {
	for c := range l.silent.Range {
		c.(*limitedConn).Close()
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.end) })
	return l.Listener.Close()
}

// limitedConn is a connection that counts as open until it is closed.
type limitedConn struct {
	net.Conn
	of      *limitedListener
	release func()
}

// Read implements net.Conn.
func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.of.silent.Delete(c)
	}
	return n, err
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	c.of.silent.Delete(c)
	return c.Conn.Close()
}

// crowd counts the requests in progress. What one does not get because of others it may get later; what it does not get alone, it never will.
type crowd struct{ now, ever atomic.Int64 }

// enter begins a request. alone reports whether no other has been in progress since then.
func (c *crowd) enter() (alone func() bool, leave func()) {
	number, others := c.ever.Add(1), c.now.Add(1)-1
	return func() bool { return others == 0 && c.ever.Load() == number }, func() { c.now.Add(-1) }
}

// meteredBody counts the bytes of all request bodies that are in memory, and fails with errBusy beyond a limit. They are charged to the memory
// budget, too.
type meteredBody struct {
	io.ReadCloser
	total *atomic.Int64
	most  int64
	read  int64
	taken budget.Tally
}

// Read implements io.Reader.
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.total.Add(int64(n)) > b.most {
		return 0, errBusy
	}
	if err := b.taken.Add(int64(n)); err != nil {
		return 0, err
	}
	return n, err
}

// release subtracts the body's bytes, once the request has been answered.
func (b *meteredBody) release() {
	b.total.Add(-b.read)
	b.taken.Free()
}

// protected calls f. A panic becomes an error, so that a fault that one request hits does not end the server for all; its stack is
// printed.
func protected(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil && fault != http.ErrAbortHandler {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", fault, debug.Stack())
			err = errInternal
		}
	}()
	return f()
}
