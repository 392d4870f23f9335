// Package csvlog reads delimited files whose first line names their columns.
package csvlog
