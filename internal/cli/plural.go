package cli

import "fmt"

// plural returns a count with its noun: "1 node", "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
