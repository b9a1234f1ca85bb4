package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/imagefile"
)

// Folders is a folder of images with one folder per class.
type Folders struct {
	Dir     string      // folder of the class folders
	Classes []string    // names of the class folders, sorted: class i is Classes[i]
	Items   []ImageFile // sorted by class, then path; without those of a validation folder
	Val     []ImageFile // images of the validation folder; nil without one
	Seed    uint64      // seed of Split
	// Cache is how many bytes of decoded images each set of Split and All keeps in memory; 0: none, each is decoded whenever it
	// is read. Split with a cache augments images that are larger than the crops need at a lower resolution.
	Cache int64
}

// Folder finds the images in dir/<class>/ or, if dir has a folder train, in dir/train/<class>/ and dir/val/<class>/
// (also valid, validation or test). Subfolders of a class, and links to folders, belong to it; names that begin with a
// dot, and files that are not images by name, are ignored. A class without images, and a link that leads nowhere, are errors.
func Folder(dir string) (*Folders, error) {
	f := &Folders{Dir: dir}
	subs, err := folders(dir)
	if err != nil {
		return nil, err
	}
	if len(subs) == 0 {
		return nil, fmt.Errorf("data: %s: no class folders in it: want FOLDER/CLASS/*.jpg, or FOLDER/train/CLASS and FOLDER/val/CLASS", dir)
	}
	train, val := halves(subs)
	if train == "" {
		f.Classes = subs
		f.Items, err = items(dir, subs, subs)
		return f, err
	}
	fit := filepath.Join(dir, train)
	if f.Classes, err = folders(fit); err != nil {
		return nil, err
	}
	if len(f.Classes) == 0 {
		return nil, fmt.Errorf("data: %s: no class folders in it: want a folder for each class, with its images", fit)
	}
	if f.Items, err = items(fit, f.Classes, f.Classes); err != nil || val == "" {
		return f, err
	}
	held := filepath.Join(dir, val)
	some, err := folders(held)
	if err != nil {
		return nil, err
	}
	for _, c := range some {
		if !slices.Contains(f.Classes, c) {
			return nil, fmt.Errorf("data: %s: class %q is not in %s, which has %s", held, c, fit, strings.Join(f.Classes, ", "))
		}
	}
	f.Val, err = items(held, some, f.Classes)
	return f, err
}

// halves returns the folders of a division into train and val. Folders are taken for
// classes unless there is a train folder, and only names of a validation folder beside it.
func halves(subs []string) (train, val string) {
	vals := []string{"val", "valid", "validation", "test"}
	for _, s := range subs {
		if s == "train" {
			train = s
		} else if !slices.Contains(vals, s) {
			return "", ""
		}
	}
	for _, v := range vals {
		if train != "" && slices.Contains(subs, v) {
			return train, v
		}
	}
	return train, ""
}

func entries(dir string) ([]imagefile.Entry, error) {
	list, err := imagefile.Entries(dir)
	if err != nil {
		err = fmt.Errorf("data: %w", err)
	}
	return list, err
}

// folders lists the folders in dir, sorted. Links to folders are folders; one to nothing is an error.
func folders(dir string) ([]string, error) {
	all, err := entries(dir)
	var out []string
	for _, e := range all {
		if e.Dir {
			out = append(out, e.Name)
		}
	}
	return out, err
}

// items lists the images of some classes; classes are numbered by their indices in all.
func items(dir string, some, all []string) ([]ImageFile, error) {
	var out []ImageFile
	for _, c := range some {
		root := filepath.Join(dir, c)
		files, err := imagefile.List(root)
		if err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("data: %s: no images in it", root)
		}
		for _, path := range files {
			out = append(out, ImageFile{Path: path, Class: slices.Index(all, c)})
		}
	}
	return out, nil
}

// Split returns a training set with augmentation and a validation set without. If there is a validation folder, it is
// the second set, and val is ignored. Otherwise the fraction val of each class is held out randomly, from Seed: at
// least one image of a class with two or more, and never all.
func (f *Folders) Split(val float64, p Preprocess) (fit, held Dataset[Sample]) {
	train, rest := f.Items, f.Val
	if rest == nil {
		train, rest = nil, nil
		for c := range f.Classes {
			a, b := f.divide(c, val)
			train, rest = append(train, a...), append(rest, b...)
		}
	}
	cache := newImageCache(f.Cache)
	return mirrored(p, func(p Preprocess) Dataset[Sample] { return cache.images(p, train, true) }), newImageCache(f.Cache).images(p, rest, false)
}

// divide splits one class.
func (f *Folders) divide(class int, val float64) (fit, held []ImageFile) {
	var all []ImageFile
	for _, i := range f.Items {
		if i.Class == class {
			all = append(all, i)
		}
	}
	picked, rest := heldOut(len(all), val, mix(f.Seed, uint64(class)))
	for _, i := range picked {
		held = append(held, all[i])
	}
	for _, i := range rest {
		fit = append(fit, all[i])
	}
	return fit, held
}

// All returns every image, those of a validation folder last, without augmentation.
func (f *Folders) All(p Preprocess) Dataset[Sample] {
	return newImageCache(f.Cache).images(p, slices.Concat(f.Items, f.Val), false)
}
