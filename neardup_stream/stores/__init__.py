"""What is kept between pages, and where."""
