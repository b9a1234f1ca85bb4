package conformance

import (
	"context"
	"errors"
	"io/fs"

	"github.com/graft-ml/graft/nn"
)

// Backend runs the models of test cases.
type Backend interface {
	// Load prepares the model in the file name of fsys, the case's folder, which also holds external data.
	Load(ctx context.Context, fsys fs.FS, name string) (Session, error)
}

// Session is a model that is ready to run. A Session is used by one goroutine at a time.
type Session interface {
	// Run computes all outputs, by name. in holds the inputs that the data set provides, by name.
	Run(ctx context.Context, in nn.Feed) (nn.Feed, error)
}

// Differentiator is a Session that can compute gradients. Golden gradients of cases are only checked on such sessions.
type Differentiator interface {
	// Grad returns the gradients of the sum over the outputs of output × weight, with respect to the named parameters and
	// inputs. weights holds a tensor of the output's shape for each output that counts.
	Grad(ctx context.Context, in, weights nn.Feed, wrt []string) (nn.Feed, error)
}

// BackendFunc is a function that is a Backend.
type BackendFunc func(ctx context.Context, fsys fs.FS, name string) (Session, error)

// Load calls f.
func (f BackendFunc) Load(ctx context.Context, fsys fs.FS, name string) (Session, error) {
	if f == nil {
		return nil, errors.New("conformance: the BackendFunc is nil")
	}
	return f(ctx, fsys, name)
}
