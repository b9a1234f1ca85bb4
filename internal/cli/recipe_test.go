package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// branchy writes a model with layers of different sizes and returns its path.
func branchy(t *testing.T, dir string) string {
	t.Helper()
	g := nn.New("branchy")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(nn.Sequential{layers.Conv{Out: 6, Kernel: []int{3}, Same: true, Name: "in"}, layers.ReLU{Name: "act"}}, e.Input("x", "float32[N,1,4,4]"))
		a := e.Apply(layers.Conv{Out: 4, Kernel: []int{1}, Name: "a"}, x)
		b := e.Apply(layers.Conv{Out: 5, Kernel: []int{3}, Same: true, Name: "b"}, x)
		y := e.Apply(layers.Concat{Name: "cat"}, a, b)
		y = e.Apply(nn.Sequential{layers.Conv{Out: 8, Kernel: []int{1}, Name: "c"}, layers.SiLU{Name: "silu"}, layers.Conv{Out: 3, Kernel: []int{1}, Name: "d"}, layers.Flatten{Name: "flat"}, layers.Linear{Out: 2, Name: "fc"}}, y)
		e.Output("y", y)
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "branchy.onnx")
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRecipes runs a step of each kind, and steps that are refused.
func TestRecipes(t *testing.T) {
	dir := t.TempDir()
	model := branchy(t, dir)
	for _, c := range []struct {
		steps string
		want  string // in what is printed
		err   string
	}{
		{`{"do":"insert","value":"act","layer":{"op":"conv","out":9,"kernel":[3]}}`, "parameters 568 → 1 210", ""},
		{`{"do":"insert","value":"act","layer":{"op":"conv","out":9,"kernel":[1]},"towards":["b"]}`, "b: axis 1 of b.weight 6 → 9", ""},
		{`{"do":"remove","node":"c"}`, "realigned axis 1 of cat: length 9 before it and 8 after it became 9", ""},
		{`{"do":"remove","node":"c","prefer":"shrink"}`, "became 8", ""},
		{`{"do":"remove","node":"c","prefer":"sideways"}`, "", `step 1: prefer "sideways": want grow`},
		{`{"do":"replace","node":"c","layer":{"op":"conv","out":12,"kernel":[3]}}`, "d: axis 1 of d.weight 8 → 12", ""},
		{`{"do":"add-edge","value":"act","node":"d"}`, "edge from act to d", ""},
		{`{"do":"add-edge","value":"act","node":"d","via":{"op":"conv","kernel":[1]}}`, "edge from act to d", ""},
		{`{"do":"add-edge","value":"act","node":"cat"}`, "c: axis 1 of c.weight 9 → 15", ""},
		{`{"do":"add-edge","value":"act","node":"c","concat":true}`, "9 → 15", ""},
		{`{"do":"add-edge","value":"d","node":"in"}`, "", "step 1, add-edge: edit:"},
		{`{"do":"remove-edge","value":"a","node":"cat"}`, "c: axis 1 of c.weight 9 → 5", ""},
		{`{"do":"remove-edge","value":"act","node":"cat"}`, "", `does not read "act"`},
		{`{"do":"resize","value":"a","channels":7}`, "4 → 7", ""},
		{`{"do":"widen","node":"a","factor":2}`, "4 → 8", ""},
		{`{"do":"widen","node":"a","factor":0.5}`, "", "want 1 or more"},
		{`{"do":"deepen","value":"act"}`, "deepened: Conv after act", ""},
		{`{"do":"deepen","value":"d","layer":{"op":"conv","kernel":[3]},"activation":{"op":"gelu"},"near":true,"norm":true}`, "two layers and GELU after d", ""},
		{`{"do":"deepen","value":"d","activation":{"op":"relu"}}`, "", "ReLU after d would change what the model computes"},
		{`{"do":"kernel","node":"b","kernel":[5]}`, "kernel of Conv b: [3 3] → [5 5]", ""},
		{`{"do":"kernel","node":"act","kernel":[5]}`, "", "has no sliding window"},
		{`{"do":"activation","layer":{"op":"leakyrelu","alpha":0.1}}`, "add LeakyRelu leakyrelu2", ""},
		{`{"do":"activation","layer":{"op":"mish"},"glob":["act"]}`, "add Mish", ""},
		{`{"do":"activation","layer":{"op":"relu","kernel":[3]}}`, "", `layer relu does not take "kernel"`},
		{`{"do":"mutate","count":3,"seed":7}`, "mutation 2:", ""},
		{`{"do":"mutate","count":2,"weights":{"widen":1},"keep":["a","b"]}`, "mutation 1: widen", ""},
		{`{"do":"mutate","count":1000000000000000000}`, "", "a count of 1000000000000000000: want at most 1000"},
		{`{"do":"mutate","count":2,"weights":{"grow":1}}`, "", `there is no kind "grow"`},
		{`{"do":"rename","value":"y","to":"scores"}`, "rename y to scores", ""},
		{`{"do":"insert","value":"act","layer":{"op":"gelu"}},{"do":"decompose","glob":["gelu*"]}`, "add Erf", ""},
		{`{"do":"decompose","node":"a"}`, "", "a: it is not made of other operators"},
		{`{"do":"decompose","domain":"com.microsoft"}`, "", "the selection matches no node"},
		{`{"do":"activation","layer":{"op":"mish"},"glob":["act","atc*"]}`, "", "glob atc*: no node or parameter has such a name; near it: act"},
		{`{"do":"freeze","glob":["nowhere"]}`, "", "glob nowhere: no node or parameter has such a name; graft inspect lists them"},
		{`{"do":"decompose"}`, "", `decompose needs "node", "glob" or "domain"`},
		{`{"do":"remove","node":"c","kernel":[3]}`, "", `remove does not take "kernel"`},
		{`{"do":"insert","value":"act","layer":{"op":"conv"}}`, "", `layer conv needs "kernel"`},
		{`{"do":"insert","value":"act","layer":{"op":"magic"}}`, "", `unknown layer "magic"`},
		{`{"do":"dance"}`, "", `unknown step "dance": want one of `},
		{`{"do":"removee","node":"a"}`, "", `unknown step "removee": did you mean "remove"?`},
		{`{"do":"remove","node":"aa"}`, "", `no node has the name or the output "aa"; near it: a`},
		{`{"do":"remove","nod":"a"}`, "", `"nod" is not a key of a recipe: did you mean "node"?`},
		{`{"do":"remove","inbetween":"a"}`, "", `"inbetween" is not a key of a recipe: graft edit --help has an example of every step`},
		{`{"do":"widen","node":"a","factor":2},{"do":"kernel","node":"nobody","kernel":[3]}`, "", "step 2, kernel: edit:"},
	} {
		t.Run(c.steps, func(t *testing.T) {
			file, out := filepath.Join(t.TempDir(), "recipe.json"), filepath.Join(t.TempDir(), "out.onnx")
			if err := os.WriteFile(file, []byte(`{"steps":[`+c.steps+`]}`), 0o644); err != nil {
				t.Fatal(err)
			}
			text, err := command("edit", model, "--recipe", file, "-o", out)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				if _, err := os.Stat(out); err == nil {
					t.Error("a file was written")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("printed %q, want %q", text, c.want)
			}
			g, err := onnxio.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRecipeHelp reads the help's example as a recipe: every step in it must pass the checks.
func TestRecipeHelp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recipe.json")
	if err := os.WriteFile(file, []byte(recipeHelp()), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := readRecipe(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != len(verbs()) {
		t.Errorf("%d steps for %d verbs", len(r.Steps), len(verbs()))
	}
	help, err := command("edit", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs() {
		if !strings.Contains(help, `"do": "`+v.name+`"`) {
			t.Errorf("the help lacks %s", v.name)
		}
	}
}

// TestPlanFile looks at the plan of a recipe as JSON.
func TestPlanFile(t *testing.T) {
	dir := t.TempDir()
	model, file, plan := branchy(t, dir), filepath.Join(dir, "r.json"), filepath.Join(dir, "plan.json")
	if err := os.WriteFile(file, []byte(`{"steps":[{"do":"remove-edge","value":"a","node":"cat"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command("edit", model, "--recipe", file, "--dry-run", "--json"); err != nil || !json.Valid([]byte(out)) {
		t.Errorf("%v: the plan is %s", err, out)
	}
	if _, err := command("edit", model, "--recipe", file, "--dry-run", "--plan", plan); err != nil {
		t.Fatal(err)
	}
	js, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Cuts          []nn.Cut
		Steps, Notes  []string
		Before, After *nn.Cost
	}
	if err := json.Unmarshal(js, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Cuts) != 1 || p.Cuts[0].Initializer != "c.weight" || len(p.Cuts[0].Removed) != 4 || p.Cuts[0].Removed[0] != 0 {
		t.Errorf("cuts %+v", p.Cuts)
	}
	if p.After == nil || p.Before.Params-p.After.Params != 4*6+4+4*8 {
		t.Errorf("before %+v, after %+v", p.Before, p.After)
	}
}
