package main

import (
	"os"
	"os/exec"

	"golang.org/x/sys/cpu"
)

// equip sets the environment in which a framework's command runs fastest: with AVX-512 if the processor has it,
// or with AVX2 only if requested. Variables that the caller has set are kept.
func (o options) equip(cmd *exec.Cmd) *exec.Cmd {
	env := map[string]string{}
	switch {
	case o.avx2:
		env["GODEBUG"] = "cpu.avx512f=off"
		env["ATEN_CPU_CAPABILITY"] = "avx2"
		env["ONEDNN_MAX_CPU_ISA"] = "AVX2"
		env["OPENBLAS_CORETYPE"] = "Haswell"
	case cpu.X86.HasAVX512F:
		env["OPENBLAS_CORETYPE"] = "SkylakeX" // the version that PyTorch has takes younger processors for the oldest
	case cpu.X86.HasAVX2:
		env["OPENBLAS_CORETYPE"] = "Haswell"
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	for name, value := range env {
		if _, ok := os.LookupEnv(name); !ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}
