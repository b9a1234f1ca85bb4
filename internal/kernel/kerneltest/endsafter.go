package kerneltest

import "context"

// EndsAfter is a context that ends once its error was asked for Left times. Left is what remains of them, below zero for those after the end.
type EndsAfter struct {
	context.Context
	Left int
}

func (c *EndsAfter) Err() error {
	if c.Left--; c.Left < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}
