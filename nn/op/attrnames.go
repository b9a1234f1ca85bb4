package op

import (
	"reflect"
	"strings"
)

// AttrNames returns the names of the operator's attributes in any version.
func (o *Op) AttrNames() map[string]bool {
	names := map[string]bool{}
	if o.Attrs == nil {
		return names
	}
	t := reflect.TypeOf(o.Attrs)
	if t.Kind() != reflect.Struct {
		return names
	}
	for i := range t.NumField() {
		if tag, ok := t.Field(i).Tag.Lookup("onnx"); ok {
			name, _, _ := strings.Cut(tag, ",")
			names[name] = true
		}
	}
	return names
}
