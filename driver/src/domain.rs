//! What all handles of a protection domain share.

use std::sync::Arc;

use crate::error::Error;
use crate::shared::Shared;

/// A number among those in use. Every handle of a domain holds it; the last one to go releases the number.
pub(crate) struct Domain {
    pub shared: Arc<Shared>,
    pub id: u16,
}

impl Domain {
    /// Takes the lowest free number.
    pub fn new(shared: &Arc<Shared>) -> Result<Arc<Self>, Error> {
        let domains = &mut shared.state().domains;
        let id = (0..=u16::MAX).find(|id| !domains.contains(id));
        let id = id.ok_or(Error::NoDomain)?;
        domains.insert(id);
        let shared = Arc::clone(shared);
        Ok(Arc::new(Self { shared, id }))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        self.shared.state().domains.remove(&self.id);
    }
}
