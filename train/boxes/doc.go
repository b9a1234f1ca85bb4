// Package boxes reads pictures with boxes on them, in the form of the COCO data set, makes boxes of what detectors give, and judges them as
// COCO does.
package boxes
