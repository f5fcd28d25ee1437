//! What only some systems have: files and folders that are their owner's alone, an open that follows no link, and a folder
//! that can be synced. Where one of them is missing, what needs it is refused: a journal that others may read, or that a
//! power loss may take, is none.

#[cfg(unix)]
pub(crate) use unix::{open_unfollowed, private_file, private_folder, sync_folder};

#[cfg(not(unix))]
pub(crate) use other::{open_unfollowed, private_file, private_folder, sync_folder};

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    use std::path::Path;

    use loom_workflow::store::StoreError;

    /// Makes a file that these options create its owner's alone.
    pub(crate) fn private_file(options: &mut OpenOptions) -> Result<&mut OpenOptions, StoreError> {
        Ok(options.mode(0o600))
    }

    /// Makes the folders that this builder creates their owner's alone.
    pub(crate) fn private_folder(builder: &mut DirBuilder) -> Result<&mut DirBuilder, StoreError> {
        Ok(builder.mode(0o700))
    }

    /// Makes an open follow no link and wait for nobody at the other end of a pipe.
    pub(crate) fn open_unfollowed(options: &mut OpenOptions) -> Result<&mut OpenOptions, StoreError> {
        Ok(options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK))
    }

    /// Brings the names in a folder to the disk.
    pub(crate) fn sync_folder(folder: &Path) -> Result<io::Result<()>, StoreError> {
        Ok(File::open(folder).and_then(|folder| folder.sync_all()))
    }
}

/// Compiled for tests everywhere, so that it does not decay where nobody builds it.
#[cfg(any(not(unix), test))]
mod other {
    use std::fs::{DirBuilder, OpenOptions};
    use std::io;
    use std::path::Path;

    use loom_workflow::store::StoreError;

    pub(crate) fn private_file(_: &mut OpenOptions) -> Result<&mut OpenOptions, StoreError> {
        Err(StoreError::NotOnThisPlatform { what: "files that only their owner may read" })
    }

    pub(crate) fn private_folder(_: &mut DirBuilder) -> Result<&mut DirBuilder, StoreError> {
        Err(StoreError::NotOnThisPlatform { what: "folders that only their owner may enter" })
    }

    pub(crate) fn open_unfollowed(_: &mut OpenOptions) -> Result<&mut OpenOptions, StoreError> {
        Err(StoreError::NotOnThisPlatform { what: "an open that follows no link" })
    }

    pub(crate) fn sync_folder(_: &Path) -> Result<io::Result<()>, StoreError> {
        Err(StoreError::NotOnThisPlatform { what: "folders that can be synced" })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{DirBuilder, OpenOptions};
    use std::path::Path;

    use loom_workflow::store::StoreError;

    use super::other;

    /// T16: a system that cannot keep the journal private or durable is told so, by what it lacks.
    #[test]
    fn what_the_system_lacks_is_refused_by_name_and_never_left_out_in_silence() {
        let (mut file, mut folder) = (OpenOptions::new(), DirBuilder::new());
        let refused = [
            other::private_file(&mut file).map(drop),
            other::open_unfollowed(&mut file).map(drop),
            other::private_folder(&mut folder).map(drop),
            other::sync_folder(Path::new(".")).map(drop),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(
                matches!(error, StoreError::NotOnThisPlatform { what } if error.to_string().contains(what))
            );
        }
    }
}
