// Package boxes reads annotations in the format of the COCO data set, decodes the outputs of detectors into boxes, and
// evaluates them with COCO's metrics.
package boxes
