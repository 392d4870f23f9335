package formats

// This file reads delimited files whose first line names their columns.
