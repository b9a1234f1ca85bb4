package conformance

import (
	"context"
	"errors"
	"io/fs"

	"github.com/graft-ml/graft/nn"
)

// Backend loads models to run test cases with.
type Backend interface {
	// Load prepares the model in the file name of fsys, the case's folder; external data stand beside it.
	Load(ctx context.Context, fsys fs.FS, name string) (Session, error)
}

// Session is a model that is ready to run. Sessions are used by one goroutine at a time.
type Session interface {
	// Run computes all outputs, by name. The feed holds the inputs that the data set gives, by name.
	Run(ctx context.Context, in nn.Feed) (nn.Feed, error)
}

// Differentiator is a Session that computes gradients. The golden gradients of cases are
// not checked on others.
type Differentiator interface {
	// Grad gives the gradients, for the parameters and inputs named, of the sum over the outputs of output × weight,
	// where weights holds a tensor of the shape of each output that counts.
	Grad(ctx context.Context, in, weights nn.Feed, wrt []string) (nn.Feed, error)
}

// BackendFunc makes a Backend of a function that loads a model.
type BackendFunc func(ctx context.Context, fsys fs.FS, name string) (Session, error)

// Load calls f.
func (f BackendFunc) Load(ctx context.Context, fsys fs.FS, name string) (Session, error) {
	if f == nil {
		return nil, errors.New("conformance: the BackendFunc is nil")
	}
	return f(ctx, fsys, name)
}
