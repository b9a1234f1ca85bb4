package onnxio

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
)

// AnnotationMode is the way in which a file stores annotations of nodes.
type AnnotationMode int

// The annotation modes.
const (
	// AsStored keeps existing annotations in the form of the file, and writes new ones as metadata.
	AsStored AnnotationMode = iota
	// AsMetadata writes NodeProto.metadata_props, which other tools ignore. It requires version 10 of the file format, to
	// which the model is raised.
	AsMetadata
	// AsAttributes writes additional attributes of the nodes, as pytorch-pfn-extras does. ONNX Runtime rejects such a model.
	AsAttributes
)

// metadataVersion is the version of the file format that introduced metadata of nodes.
const metadataVersion = 10

// fromMetadata returns the annotations in the metadata of a node.
func fromMetadata(props []*onnxpb.StringStringEntryProto) nn.Annotations {
	if len(props) == 0 {
		return nil
	}
	a := nn.Annotations{}
	for _, p := range props {
		a[p.GetKey()] = nn.ParseAnnotation(p.GetValue())
	}
	return a
}

// annotate adds an attribute that is unknown to its operator as an annotation, if it is text or numbers.
func (s *assembly) annotate(spec *nn.NodeSpec, a *onnxpb.AttributeProto) {
	v, err := decodeAttribute(a, s.ext)
	if err == nil && isAnnotation(v) {
		if spec.Annotations == nil {
			spec.Annotations = nn.Annotations{}
		}
		spec.Annotations[a.GetName()] = v
	}
}

// extra writes an attribute of the file that is unknown to the operator. left are the annotations of the node that are
// not written yet.
func (w *writer) extra(p *onnxpb.NodeProto, a *onnxpb.AttributeProto, left nn.Annotations) error {
	old, err := decodeAttribute(a, nil)
	v, ok := left[a.GetName()]
	switch annotation := err == nil && isAnnotation(old); {
	case annotation && !ok: // removed
		return nil
	case annotation && w.annotationMode == AsMetadata: // written by metadata
		return nil
	case annotation && !reflect.DeepEqual(v, old):
		if a, err = encodeAttribute(a.GetName(), v, nil); err != nil {
			return fmt.Errorf("annotation %s: %w", a.GetName(), err)
		}
	}
	delete(left, a.GetName())
	p.Attribute = append(p.Attribute, a)
	return nil
}

// metadata writes the remaining annotations: first those that the file had in its metadata, in its order and, if
// unchanged, in its form; then the others.
func (w *writer) metadata(p *onnxpb.NodeProto, left nn.Annotations) error {
	props := p.MetadataProps
	p.MetadataProps = nil
	for _, prop := range props {
		v, ok := left[prop.GetKey()]
		if !ok || w.annotationMode == AsAttributes {
			continue
		}
		if !reflect.DeepEqual(v, nn.ParseAnnotation(prop.GetValue())) {
			prop = entry(prop.GetKey(), nn.AnnotationText(v))
		}
		delete(left, prop.GetKey())
		p.MetadataProps = append(p.MetadataProps, prop)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if w.annotationMode != AsAttributes {
			p.MetadataProps = append(p.MetadataProps, entry(key, nn.AnnotationText(left[key])))
			w.ir = max(w.ir, metadataVersion)
			continue
		}
		a, err := encodeAttribute(key, left[key], nil)
		if err != nil {
			return fmt.Errorf("annotation %s: %w", key, err)
		}
		p.Attribute = append(p.Attribute, a)
	}
	return nil
}

// isAnnotation reports whether the type of an attribute's value is possible for annotations.
func isAnnotation(v any) bool {
	switch v.(type) {
	case string, int64, float32, []string, []int64, []float32:
		return true
	}
	return false
}
