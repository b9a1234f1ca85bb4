package boxes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
)

// result is a detection in COCO's format, with the box as left, top, width and height.
type result struct {
	Image    int64     `json:"image_id"`
	Category int64     `json:"category_id"`
	Box      []float64 `json:"bbox"`
	Score    float64   `json:"score"`
}

// LoadDetections reads a COCO results file, objects with image_id, category_id, bbox and score, for the images of s
// in their order.
func (s *GroundTruth) LoadDetections(path string) ([][]Detection, error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("boxes: %w", err)
	}
	var list []result
	if err := budget.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("boxes: %s: not COCO's list of results, objects with image_id, category_id, bbox and score: %w", path, err)
	}
	images, categories := map[int64]int{}, map[int64]int{}
	for i, p := range s.Images {
		images[p.ID] = i
	}
	for i, c := range s.Categories {
		categories[c.ID] = i
	}
	found := make([][]Detection, len(s.Images))
	for k, d := range list {
		i, ok := images[d.Image]
		c, known := categories[d.Category]
		switch {
		case !ok:
			return nil, fmt.Errorf("boxes: %s: result %d is of image %d, which the set does not have", path, k, d.Image)
		case !known:
			return nil, fmt.Errorf("boxes: %s: result %d is of category %d, which the set does not have", path, k, d.Category)
		case len(d.Box) != 4:
			return nil, fmt.Errorf("boxes: %s: result %d has the bbox %s, want left, top, width and height", path, k, boxText(d.Box))
		}
		found[i] = append(found[i], Detection{
			Box: Box{d.Box[0], d.Box[1], d.Box[0] + d.Box[2], d.Box[1] + d.Box[3]}, Category: c, Score: d.Score, FileArea: d.Box[2] * d.Box[3],
		})
	}
	return found, nil
}

// WriteDetections writes detections for the images of s as a COCO results file.
func (s *GroundTruth) WriteDetections(w io.Writer, found [][]Detection) error {
	if w == nil {
		return errors.New("boxes: the writer is nil")
	}
	list := []result{}
	for i, all := range found {
		for _, d := range all {
			list = append(list, result{s.Images[i].ID, s.Categories[d.Category].ID, []float64{d.X0, d.Y0, d.X1 - d.X0, d.Y1 - d.Y0}, d.Score})
		}
	}
	return json.NewEncoder(w).Encode(list)
}
