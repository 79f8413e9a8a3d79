"""The stages of a proof, one module each: `run(subject) -> StageResult`."""
