package data

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplacedInAnEpoch: an image or mask that is removed, emptied, cut off or replaced after its set was read ends the batches with an error that names it; one of another
// size is read, unless its mask no longer fits. No batch is shorter.
func TestReplacedInAnEpoch(t *testing.T) {
	p := Preprocess{Size: 8}
	for _, c := range []struct {
		name, file string
		open       func(dir string) (Dataset[Sample], error)
		fits       bool // an image of another size
	}{
		{"folder", "images/a/1.png", func(dir string) (Dataset[Sample], error) {
			f, err := Folder(filepath.Join(dir, "images"))
			return f.All(p), err
		}, true},
		{"image with a mask", "images/1.png", func(dir string) (Dataset[Sample], error) {
			m, err := MaskFolder(dir)
			return m.All(p, 8, 8), err
		}, false},
		{"mask", "masks/1.png", func(dir string) (Dataset[Sample], error) {
			m, err := MaskFolder(dir)
			return m.All(p, 8, 8), err
		}, false},
		{"tagged image", "images/1.png", func(dir string) (Dataset[Sample], error) {
			f, err := ReadTags(filepath.Join(dir, "tags.csv"))
			return f.All(p), err
		}, true},
	} {
		for how, spoil := range map[string]func(path string) error{
			"removed":  os.Remove,
			"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
			"emptied":  func(path string) error { return os.Truncate(path, 0) },
			"cut off":  func(path string) error { return os.Truncate(path, 60) },
			"resized":  func(path string) error { painted(t, path, image.NewGray(image.Rect(0, 0, 5, 3))); return nil },
		} {
			dir := t.TempDir()
			tags := "file,tags\n"
			mask := image.NewGray(image.Rect(0, 0, 9, 7))
			for i := range 12 {
				mask.Pix[i] = uint8(i % 2)
			}
			for i := range 12 {
				name := fmt.Sprint(i, ".png")
				tags += "images/" + name + ",x\n"
				painted(t, filepath.Join(dir, filepath.Dir(c.file), name), testImage(9, 7))
				if c.name != "folder" {
					painted(t, filepath.Join(dir, "images", name), testImage(9, 7))
					painted(t, filepath.Join(dir, "masks", name), mask)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "tags.csv"), []byte(tags), 0o644); err != nil {
				t.Fatal(err)
			}
			set, err := c.open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 2} {
				seen := 0
				var last error
				for b, err := range (BatchLoader{Batch: 4, Workers: workers, Seed: 1}).Batches(context.Background(), set, 0) {
					if last = err; err == nil {
						seen += b.X[0].Shape()[0]
					}
				}
				if first := workers == 1; first && (last != nil || seen != 12) {
					t.Fatalf("%s: %d samples, %v", c.name, seen, last)
				} else if first {
					if err := spoil(filepath.Join(dir, c.file)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if how == "resized" && c.fits {
					if last != nil || seen != 12 {
						t.Errorf("%s, %s: %d samples, %v", c.name, how, seen, last)
					}
				} else if last == nil || strings.Count(last.Error(), filepath.Join(dir, c.file)) != 1 && how != "resized" || !strings.Contains(last.Error(), filepath.FromSlash(c.file)) || strings.Contains(last.Error(), "unknown format") {
					t.Errorf("%s, %s: %d samples, %v", c.name, how, seen, last)
				}
			}
		}
	}
}

// TestLinkedImages: links to folders are followed, none twice; a link that leads nowhere is an error, and a mask without an image is, too.
func TestLinkedImages(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	painted(t, filepath.Join(other, "x", "2.png"), testImage(3, 3))
	painted(t, filepath.Join(dir, "a", "1.png"), testImage(3, 3))
	painted(t, filepath.Join(dir, "b", "1.png"), testImage(3, 3))
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	link(other, "a/more")
	link("..", "a/again")
	link(filepath.Join(dir, "a"), "a/same")
	f, err := Folder(dir)
	if want := []string{"a/1.png", "a/again/b/1.png", "a/more/x/2.png", "b/1.png"}; err != nil || len(f.Items) != len(want) {
		t.Fatal(f, err)
	} else {
		for i, name := range want {
			if f.Items[i].Path != filepath.Join(dir, filepath.FromSlash(name)) {
				t.Errorf("image %d is %s, want %s", i, f.Items[i].Path, name)
			}
		}
	}
	for _, name := range []string{"a/lost", "c"} {
		link("nowhere", name)
		if _, err := Folder(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, filepath.FromSlash(name))) {
			t.Errorf("%s leads nowhere: %v", name, err)
		}
		os.Remove(filepath.Join(dir, filepath.FromSlash(name)))
	}
	link("nowhere", "a/lost.png") // is an image that cannot be read
	if f, err := Folder(dir); err != nil {
		t.Error(err)
	} else if bad, err := f.Corrupt(context.Background()); err != nil || len(bad) != 1 || !strings.Contains(bad[0].Err.Error(), "lost.png") {
		t.Error(bad, err)
	}

	masks := t.TempDir()
	mask := image.NewGray(image.Rect(0, 0, 3, 3))
	mask.Pix[0] = 1
	for _, name := range []string{"a", "b"} {
		painted(t, filepath.Join(masks, "images", name+".png"), testImage(3, 3))
		painted(t, filepath.Join(masks, "masks", name+"_mask.png"), mask)
	}
	painted(t, filepath.Join(masks, "masks", "._a.png"), mask) // macOS writes such files on other disks
	if m, err := MaskFolder(masks); err != nil || len(m.Items) != 2 {
		t.Error(m, err)
	}
	if err := os.Remove(filepath.Join(masks, "images", "b.png")); err != nil {
		t.Fatal(err)
	}
	if _, err := MaskFolder(masks); err == nil || !strings.Contains(err.Error(), "b_mask.png has no image with the same name in") {
		t.Error(err)
	}
}
