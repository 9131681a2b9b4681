//! Why a mitigation is off, and the fix that follows.
