//! Retry and kill switch for governed calls
