package letters_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/examples/letters"
)

// Example draws six images of three letters, alternating.
func Example() {
	images, labels, err := letters.Set("ABC", 6, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(images) == 6*letters.Size*letters.Size, labels)
	// Output: true [0 1 2 0 1 2]
}
