package nn

import "context"

// turnsBetween is the number of nodes or values that are handled, in some microseconds each, between two looks at a context.
const turnsBetween = 1 << 10

// watch looks at a context now and then.
type watch struct {
	ctx   context.Context
	turns int
	err   error // of ctx, once it was seen
}

// ended counts a node, value or change that was handled, and reports whether the context has ended. It has not if w is nil.
func (w *watch) ended() bool {
	if w == nil {
		return false
	}
	if w.turns++; w.turns%turnsBetween == 0 && w.err == nil {
		w.err = w.ctx.Err()
	}
	return w.err != nil
}

// begun returns a watch of ctx, after a first look at it.
func begun(ctx context.Context) (*watch, error) {
	if err := ctx.Err(); err != nil || ctx.Done() == nil {
		return nil, err
	}
	return &watch{ctx: ctx}, nil
}

// context returns the context that is watched.
func (w *watch) context() context.Context {
	if w == nil {
		return context.Background()
	}
	return w.ctx
}

// EditUntil is Edit, ended by ctx, with its error and without changes: each change looks at ctx, f only needs to if it takes long without any.
func (g *Graph) EditUntil(ctx context.Context, f func(*Edit)) error {
	return g.transact(ctx, "edit", f, func(e *Edit) { g.commit(e.log) })
}

// PlanUntil is Plan, ended by ctx like EditUntil.
func (g *Graph) PlanUntil(ctx context.Context, f func(*Edit)) (p *Plan, err error) {
	err = g.transact(ctx, "plan", f, func(e *Edit) {
		e.undo()
		p = &Plan{g: g, log: e.log, version: g.version, notes: e.notes, cuts: e.cuts, saved: e.saved}
	})
	return p, err
}

// transact runs an edit until ctx ends, and done after it.
func (g *Graph) transact(ctx context.Context, stage string, f, done func(*Edit)) error {
	if f == nil {
		return &Error{Stage: stage, Err: errNoFunction}
	}
	w, err := begun(ctx)
	if err != nil {
		return &Error{Stage: stage, Err: err}
	}
	if err := g.begin(stage); err != nil {
		return err
	}
	defer g.lock().Unlock()
	e, err := g.attempt(f, w)
	if err == nil {
		done(e)
	}
	return err
}

// watched returns the watch of the edit, or of the one around it.
func (e *Edit) watched() *watch {
	for e.outer != nil {
		e = e.outer
	}
	return e.watch
}

// ended counts a turn of a loop. It fails the edit and returns true if the edit's context has ended.
func (e *Edit) ended() bool {
	w := e.watched()
	if !w.ended() {
		return false
	}
	e.fail(w.err)
	return true
}

// until returns the context of the edit of g that goes on, or one that does not end.
func (g *Graph) until() context.Context {
	if g.edit == nil {
		return context.Background()
	}
	return g.edit.watched().context()
}
