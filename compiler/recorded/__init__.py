"""What a compile was found to depend on only while it ran, recorded then and checked at look-up."""
