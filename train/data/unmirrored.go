package data

// Unmirrored returns an augmented set of images without its horizontal flips; ok is false if it has none.
func Unmirrored(s Dataset[Sample]) (without Dataset[Sample], ok bool) {
	if m, is := s.(mirroring); is {
		return m.without, true
	}
	return nil, false
}

// mirroring is a set with horizontal flips, together with the same set without them.
type mirroring struct {
	Dataset[Sample]
	without Dataset[Sample]
}

// mirrored returns an augmented set. It is a mirroring if augmentation by p includes flips.
func mirrored(p Preprocess, augment func(Preprocess) Dataset[Sample]) Dataset[Sample] {
	s := augment(p)
	if p.NoFlip || p.Policy == NoAugmentation {
		return s
	}
	p.NoFlip = true
	return mirroring{s, augment(p)}
}
