package letters_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/examples/letters"
)

// Six images of three letters, by turns.
func Example() {
	images, labels, err := letters.Set("ABC", 6, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(images) == 6*letters.Size*letters.Size, labels)
	// Output: true [0 1 2 0 1 2]
}
