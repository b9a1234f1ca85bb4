package main

import "github.com/spf13/cobra"

func newInspect() *cobra.Command { return &cobra.Command{Use: "inspect MODEL"} }
func newRun() *cobra.Command { return &cobra.Command{Use: "run MODEL"} }
