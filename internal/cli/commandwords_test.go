package cli

import (
	"strings"
	"testing"
)

// TestCommandMistakes checks the messages about words that are not commands, and about mistakes with help, completion and version.
func TestCommandMistakes(t *testing.T) {
	const shells = "want one of bash, fish, powershell, zsh"
	expect(t, ".", [][3]string{
		{"vresion", "", `unknown command "vresion"; did you mean graft version?`},
		{"Train", "", `unknown command "Train"; did you mean graft train?`},
		{"pred", "", `unknown command "pred"; did you mean graft predict?`},
		{"dance", "", `unknown command "dance"; graft help lists the commands`},
		{"model.onnx", "", "a command comes before the model: graft inspect model.onnx shows it"},
		{"--json", "", "unknown flag: --json; graft --help lists the flags"},
		{"--memroy 1GB version", "", "unknown flag: --memroy; did you mean --memory?"},

		{"help dance", "", `unknown command "dance"; graft help lists the commands`},
		{"help trian", "", `unknown command "trian"; did you mean graft train?`},
		{"help tra", "", `unknown command "tra"; did you mean graft train?`},
		{"help model.onnx", "", "a command comes before the model"},
		{"help train eval", "", `want one command, got ["train" "eval"]; graft train --help is about that command`},
		{"help train --data", "", "unknown flag: --data; graft help --help lists the flags"},
		{"help -x", "", "unknown shorthand flag: 'x' in -x"},
		{"help --memory lots", "", "--memory lots: want a number of bytes as 500MB or 4GiB"},
		{"help --memory", "", "flag needs an argument: --memory; graft help --help lists the flags"},
		{"help completion tcsh", "", `want one command, got ["completion" "tcsh"]`},

		{"completion", "", "want a shell, one of bash, fish, powershell, zsh; graft completion bash --help says how to load the script"},
		{"completion tcsh", "", `no shell "tcsh": ` + shells},
		{"completion bsh", "", `no shell "bsh": ` + shells},
		{"completion bash zsh", "", `want no arguments, got ["zsh"]; graft completion bash --help says more`},
		{"completion zsh file", "", `want no arguments, got ["file"]; graft completion zsh --help says more`},
		{"completion --shell bash", "", "unknown flag: --shell; "},
		{"completion fish --no-desc", "", "unknown flag: --no-desc; did you mean --no-descriptions?"},
		{"completion fish -o f", "", "unknown shorthand flag: 'o' in -o"},
		{"completion bash --no-descriptions=2", "", `invalid argument "2" for "--no-descriptions" flag: want true or false`},
		{"completion powershell.exe", "", `no shell "powershell.exe": ` + shells},
		{"completion -h=maybe", "", `invalid argument "maybe" for "-h, --help" flag: want true or false`},
		{"completion bash --json", "", "unknown flag: --json; graft completion bash --help lists the flags"},
		{"completion bash --memory -1GB", "", "--memory -1GB: want a number of bytes"},

		{"version 2", "", `want no arguments, got ["2"]; graft version --help says more`},
		{"version model.onnx", "", `want no arguments, got ["`},
		{"version train eval", "", `want no arguments, got ["train" "eval"]`},
		{"version --json=maybe", "", `invalid argument "maybe" for "--json" flag: want true or false`},
		{"version --jsn", "", "unknown flag: --jsn; did you mean --json?"},
		{"version --yaml", "", "unknown flag: --yaml; graft version --help lists the flags"},
		{"version -j", "", "unknown shorthand flag: 'j' in -j; did you mean --json?"},
		{"version --format json", "", "unknown flag: --format; did you mean --json?"},
		{"version --memory much", "", "--memory much: want a number of bytes as 500MB or 4GiB"},
		{"version --memory", "", "flag needs an argument: --memory"},
		{"version --help=2", "", `invalid argument "2" for "-h, --help" flag: want true or false`},

		{"help train", "train fits a model to data", ""},
		{"help completion zsh", "zsh", ""},
		{"--version", "graft ", ""},
		{"", "Available Commands:", ""},
	})
}

// TestHelp checks that every command describes itself in the same words by help and by --help, with its usage and its flags.
func TestHelp(t *testing.T) {
	for _, c := range newRoot().Commands() {
		a, err := command("help", c.Name())
		b, err2 := command(c.Name(), "--help")
		if err != nil || err2 != nil || a != b || !strings.Contains(a, "Usage:\n  graft "+c.Name()) || !strings.Contains(a, "Flags:") {
			t.Errorf("%s: %v, %v; help prints %.300q, --help %.300q", c.Name(), err, err2, a, b)
		}
	}
}
