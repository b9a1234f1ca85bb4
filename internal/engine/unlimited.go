package engine

import "context"

type unlimitedKey struct{}

// Unlimited returns ctx, which contexts derived from it remember: a time limit on them then applies to what can be left out when
// the time is over, and not to the rest.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, ctx)
}

// WithoutLimit returns the context that Unlimited was given for ctx, or else ctx itself.
func WithoutLimit(ctx context.Context) context.Context {
	if u, ok := ctx.Value(unlimitedKey{}).(context.Context); ok {
		return u
	}
	return ctx
}
