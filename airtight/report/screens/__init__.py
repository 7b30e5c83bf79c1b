"""The first screens of the commands: verdict, number, one table, the next step."""
