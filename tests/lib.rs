//! Nothing to see: the tests are in `it/`.
