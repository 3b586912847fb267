"""ELMo vectors by workers of Ray; needs `pip install 'elmo-keras[ray]'`."""

from elmo_keras.embed.on_ray.batch_embedder import BatchEmbedder
from elmo_keras.embed.on_ray.ray_job import JobSummary, embed_on_ray

__all__ = ["BatchEmbedder", "JobSummary", "embed_on_ray"]
