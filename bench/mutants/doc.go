// Command mutants measures how much of a package its tests protect: it breaks single expressions that the tests
// execute and counts the breakages that make a test fail.
//
//	go run ./bench/mutants -n 200 -seed 1 -json out.json ./nn/op
//
// The sample is drawn from all expressions of the package's own code that its tests execute (files that are generated or
// declare functions implemented in assembly are left out, and so are constant expressions). One change is made to each:
//
//   - ↔ -    * ↔ /    < ↔ <=    > ↔ >=    == ↔ !=    && ↔ ||    and their assignments, ++ ↔ --
//     !x → x, if x → if !x where x is a call or a name
//     an integer literal in an index, a slice bound or the head of a loop, plus or minus one
//     if err {return an error} → nothing, where the return was executed
//
// With -drop, a statement, a branch (if) or an operand of && and || is left out, too.
//
// What no test can notice because it cannot change a result is left alone: the capacity in make, and arguments for a
// parameter named grain, by which work is divided among threads.
//
// All changes of a sample are compiled into one test binary, in which an environment variable chooses the active one
// (mutant schemata, Untch, Offutt and Harrold 1993): a package of two hundred files would otherwise be compiled and linked
// once for each change, which is what existing tools (gremlins, go-mutesting, ooze) do and why they cannot do it here.
// The tests of the package run first; what survives meets the tests of the packages that depend on it. Of a package only
// the tests that reach the expression run, short ones first. A failing test, a crash and taking ten times the usual
// processor time are what counts as noticed.
//
// With -again FILE, the sample is what survived in a report that -json wrote; with -files PATTERN it is drawn from the files
// whose names match. Tests that match -skip are not run. With -by REGEXP, of the packages that depend on the package only those whose import paths match run their tests.
//
// The tests run as on a machine that has nothing but Go: no shared folder, no other implementation to compare with.
// docs/mutation-testing.md has the figures.
package main
