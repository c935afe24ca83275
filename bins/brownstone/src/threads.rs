//! Which threads go first: those that answer calls, before those that make reports.

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

/// By how much the runtime's threads give way, on Linux. Where a core is wanted by both, one that answers gets three times the time.
#[cfg(target_os = "linux")]
const GIVE_WAY: i32 = 5;

/// The runtime of a command that does its work and ends.
pub(crate) fn plain() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// The runtime of a server, whose threads make reports and talk to storage: they give way to those that [`drive`] begins.
pub(crate) fn giving_way() -> std::io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all();
    #[cfg(target_os = "linux")]
    {
        // Of Linux alone is it a thread's own; elsewhere all of the process would give way. From here on, not from whichever thread
        // began the new one: that may have given way itself.
        let own = rustix::process::getpriority_process(None).unwrap_or_default();
        builder.on_thread_start(move || {
            if let Err(error) = rustix::process::setpriority_process(None, own + GIVE_WAY) {
                tracing::debug!(%error, "a thread that makes reports is as urgent as the others");
            }
        });
    }
    builder.build()
}

/// Drives a listener to its end on a thread of its own, since its workers are begun by whoever drives it and are as urgent as that is.
/// To be called on the program's first thread, within a runtime.
pub(crate) fn drive(
    server: impl Future<Output = std::io::Result<()>> + Send + 'static,
) -> std::io::Result<oneshot::Receiver<std::io::Result<()>>> {
    let runtime = Handle::current();
    let (ended, outcome) = oneshot::channel();
    std::thread::Builder::new()
        .name("listener".to_owned())
        .spawn(move || {
            // Nobody waits for it any more when the program ends on an error.
            let _ = ended.send(runtime.block_on(server));
        })?;
    Ok(outcome)
}
