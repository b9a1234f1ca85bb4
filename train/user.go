package train

import (
	"errors"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/goroutine"
	"github.com/graft-ml/graft/nn/op"
)

// user is the goroutine that is in a method of a trainer; 0: none.
type user struct{ id atomic.Int64 }

var errInUse = &op.Error{Stage: "train", Err: errors.New("another goroutine uses the Trainer, which is for one at a time: wait for it, or give each goroutine a Trainer of its own graph")}

// enter makes the calling goroutine the user, until leave is called; it is an error if another one is. Callbacks may call methods
// again: for them, leave does nothing.
func (u *user) enter() (leave func(), err error) {
	me := goroutine.ID()
	switch {
	case u.id.Load() == me:
		return func() {}, nil
	case !u.id.CompareAndSwap(0, me):
		return func() {}, errInUse
	}
	return func() { u.id.CompareAndSwap(me, 0) }, nil
}
