//! Whole checks on tables made by hand.
