"""About: what the controls mean, the models with their numbers, the data with their licences."""

from app import about

about.page()
