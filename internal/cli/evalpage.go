package cli

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/png"
	"io"

	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"golang.org/x/image/draw"
)

// page is the HTML report of --output: one file with embedded images.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>graft eval {{.Model}}</title>
<style>
body{font:15px/1.5 sans-serif;margin:2em auto;max-width:64em;padding:0 1em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}img{max-width:100%}
.worst{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;width:170px;font-size:13px;overflow-wrap:anywhere}
figure img{width:160px;image-rendering:pixelated;border:1px solid #ddd}
</style>
<h1>{{.Model}}</h1>
<p>{{.Samples}} samples of {{.Data}}</p>
<table>{{range .Figures}}<tr><td>{{.Name}}</td><td>{{printf "%.4g" .Value}}</td></tr>{{end}}</table>
{{if .Classes}}<h2>Classes</h2>
<table><tr><th>class</th><th>precision</th><th>recall</th><th>F1</th><th>samples</th><th>predicted</th></tr>
{{range .Classes}}<tr><td>{{.Name}}</td><td>{{printf "%.4f" .Precision}}</td><td>{{printf "%.4f" .Recall}}</td><td>{{printf "%.4f" .F1}}</td><td>{{.Samples}}</td><td>{{.Said}}</td></tr>
{{end}}</table>{{end}}
{{range .Charts}}<p><img alt="{{.Name}}" src="{{.Source}}"></p>
{{end}}{{if .Worst}}<h2>Largest losses</h2>
<div class="worst">{{range .Worst}}<figure>{{if .Source}}<img alt="" src="{{.Source}}">{{end}}<figcaption>{{.Sample}}<br>actual <b>{{.Is}}</b>, predicted <b>{{.Said}}</b>{{if .Sure}} ({{printf "%.3f" .Sure}}){{end}}<br>loss {{.LossText}}</figcaption></figure>
{{end}}</div>{{end}}
</html>
`))

type (
	pageFigure struct {
		Name  string
		Value float64
	}
	pageClass struct {
		Name string
		train.ClassFigures
	}
	pageChart struct {
		Name   string
		Source template.URL
	}
	pageWorst struct {
		mistake
		LossText string
		Source   template.URL
	}
)

// html writes the page.
func (v evaluation) html(w io.Writer, r *findings) error {
	all := struct {
		Model, Data string
		Samples     int
		Figures     []pageFigure
		Classes     []pageClass
		Charts      []pageChart
		Worst       []pageWorst
	}{Model: r.Model, Data: v.data, Samples: r.Samples}
	for name, x := range sorted(r.Figures) {
		all.Figures = append(all.Figures, pageFigure{name, x})
	}
	charts := map[string]func(io.Writer) error{}
	if c := r.confusion; c != nil {
		for i, f := range c.PerClass() {
			if f.Samples+f.Said > 0 {
				all.Classes = append(all.Classes, pageClass{v.class(i), f})
			}
		}
		charts["confusion"] = func(w io.Writer) error { return c.WritePNG(w, v.class) }
	}
	if r.calibration != nil {
		charts["calibration"] = r.calibration.WritePNG
	}
	for name, write := range sorted(charts) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		all.Charts = append(all.Charts, pageChart{name, inline(b.Bytes())})
	}
	for _, m := range r.worst {
		x := pageWorst{mistake: m, LossText: cell(m.Loss)}
		if v.image != nil {
			if img, err := v.image(m.Index); err == nil { // without the image the report is still useful
				if x.Source, err = thumbnail(img); err != nil {
					return err
				}
			}
		}
		all.Worst = append(all.Worst, x)
	}
	return page.Execute(w, all)
}

// inline returns a PNG as a data URL.
func inline(b []byte) template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b))
}

// thumbnail returns an image of at most 160×160 pixels as a data URL.
func thumbnail(img image.Image) (template.URL, error) {
	const most = 160
	b := img.Bounds()
	if scale := max(b.Dx(), b.Dy()); scale > most {
		small := image.NewRGBA(image.Rect(0, 0, max(1, b.Dx()*most/scale), max(1, b.Dy()*most/scale)))
		draw.BiLinear.Scale(small, small.Bounds(), img, b, draw.Src, nil)
		img = small
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return "", err
	}
	return inline(out.Bytes()), nil
}

// showImages finds the names and images of the samples of s.
func (v *evaluation) showImages(s samples) {
	if f := s.folders; f != nil {
		items := append(f.Items[:len(f.Items):len(f.Items)], f.Val...)
		v.names = func(i int) string { return items[i].Path }
		v.image = func(i int) (image.Image, error) { return data.OpenImage(items[i].Path) }
		return
	}
	if m := s.tags; m != nil {
		v.names = func(i int) string { return m.Items[i].Path }
		v.image = func(i int) (image.Image, error) { return data.OpenImage(m.Items[i].Path) }
		return
	}
	if m := s.masks; m != nil {
		v.names = func(i int) string { return m.Items[i].Image }
		v.image = func(i int) (image.Image, error) { return data.OpenImage(m.Items[i].Image) }
		return
	}
	if p := s.pairs; p != nil {
		v.names = func(i int) string { return p.of[i][0] }
		v.image = func(i int) (image.Image, error) { return data.OpenImage(p.of[i][0]) }
		return
	}
	if !s.pixels {
		return
	}
	v.image = func(i int) (image.Image, error) {
		x, err := s.tensors.At(i, nil)
		if err != nil {
			return nil, err
		}
		return data.AsImage(x.X[0])
	}
}
