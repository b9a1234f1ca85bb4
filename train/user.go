package train

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/graft-ml/graft/internal/goroutine"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// user is the goroutine that is in a method of a trainer of a graph; 0: none.
type user struct{ id atomic.Int64 }

// users are the users of the graphs that have trainers.
var users struct {
	sync.Mutex
	of map[weak.Pointer[nn.Graph]]*user
}

// userOf returns the user that all trainers of a graph have.
func userOf(g *nn.Graph) *user {
	users.Lock()
	defer users.Unlock()
	key := weak.Make(g)
	u := users.of[key]
	if u == nil {
		if u = new(user); users.of == nil {
			users.of = map[weak.Pointer[nn.Graph]]*user{}
		}
		users.of[key] = u
		runtime.AddCleanup(g, func(key weak.Pointer[nn.Graph]) {
			users.Lock()
			defer users.Unlock()
			delete(users.of, key)
		}, key)
	}
	return u
}

var errInUse = &op.Error{Stage: "train", Err: errors.New("another goroutine uses the Trainer, or another Trainer of its graph, which is for one at a time: wait for it, or give each goroutine a Trainer of its own graph")}

// enter makes the calling goroutine the user, until leave is called; it is an error if another one is. Callbacks may call methods
// again: for them, leave does nothing.
func (u *user) enter() (leave func(), err error) {
	if u == nil { // of the zero Trainer
		return func() {}, nil
	}
	me := goroutine.ID()
	switch {
	case u.id.Load() == me:
		return func() {}, nil
	case !u.id.CompareAndSwap(0, me):
		return func() {}, errInUse
	}
	return func() { u.id.CompareAndSwap(me, 0) }, nil
}
