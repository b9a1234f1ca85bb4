package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// caseMeta is the content of meta.json, which describes an export, in the format of pytorch-pfn-extras.
type caseMeta struct {
	GeneratedAt     string         `json:"generated_at"` // local time, ISO 8601
	OutputDirectory string         `json:"output_directory"`
	Exporter        string         `json:"exporter"`
	Stripped        bool           `json:"strip_large_tensor_data"`
	UserMeta        map[string]any `json:"user_meta,omitempty"`
	Git             *gitFacts      `json:"git,omitempty"` // of the working directory, if it is in a repository
}

type gitFacts struct {
	Branch     string `json:"branch"`
	Commit     string `json:"commit"`
	Remote     string `json:"remote"`
	CommitDate string `json:"commit_date"`
}

// meta returns the text of meta.json.
func (x CaseWriter) meta(dir string) ([]byte, error) {
	now := time.Now
	if x.Now != nil {
		now = x.Now
	}
	m := caseMeta{
		GeneratedAt: now().Format("2006-01-02T15:04:05.000000"), OutputDirectory: dir, Exporter: "graft",
		Stripped: x.Strip != nil, UserMeta: x.UserMeta, Git: gitOf(),
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// gitOf returns git's state of the working directory; nil if there is no git, or no repository with a commit.
func gitOf() *gitFacts {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ask := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	commit, ok := ask("rev-parse", "HEAD")
	if !ok {
		return nil
	}
	g := &gitFacts{Commit: commit}
	g.Branch, _ = ask("rev-parse", "--abbrev-ref", "HEAD")
	g.Remote, _ = ask("ls-remote", "--get-url")
	g.CommitDate, _ = ask("show", "-s", "--format=%ci", "HEAD")
	return g
}
